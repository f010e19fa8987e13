"""The games for language models, as tools over the Model Context Protocol: what is asked for is done at a table."""
