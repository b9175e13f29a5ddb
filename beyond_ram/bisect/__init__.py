"""Where a script changed: its runs over the releases of a package, searched for steps."""
