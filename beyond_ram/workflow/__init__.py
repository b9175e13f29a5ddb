"""What joins Snakemake and the model: chapters, made outputs, the files that a file imports, what is outdated."""
