"""Whether a change left the generated code as it was."""
