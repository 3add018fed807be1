"""The sub-commands of `gomea-bn`, one module each."""
