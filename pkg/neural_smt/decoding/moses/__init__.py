"""Models of Moses: reading ``moses.ini``, a compiled form that starts at once, and writing a folder Moses loads."""
