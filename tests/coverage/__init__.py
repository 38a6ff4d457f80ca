"""Which test exercises which name of the language."""
