Something.
