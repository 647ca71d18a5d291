"""A report over some numbers."""


def report(numbers):
    """The mean of the numbers, as text."""
    return f"mean: {sum(numbers) / len(numbers)}"
