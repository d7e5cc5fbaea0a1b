"""Tables and figures made of what the other stages measured."""
