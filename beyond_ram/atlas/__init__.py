"""The atlas: what each release of the data stack's libraries costs in small cases, and between which it changed."""
