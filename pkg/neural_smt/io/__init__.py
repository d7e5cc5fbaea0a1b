"""Files of the project: text, tables and arrays, read and written whole, in pieces or as streams."""
