"""The files of a run, of a cell's runs and of tables: names, types, reading and checking."""
