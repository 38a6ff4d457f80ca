"""Whether the tests notice mistakes: plants one at a time in generated code, and runs the tests that reach it."""
