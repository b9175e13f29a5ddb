"""The atlas: what each release of the data libraries costs in small cases, and between which releases the cost
changed."""
