import unittest

from calc import total


class Total(unittest.TestCase):
    def test_nothing(self):
        self.assertEqual(total([]), 0)

    def test_without_discount(self):
        self.assertEqual(total([20, 30]), 50)

    def test_discount_is_a_percentage(self):
        self.assertEqual(total([20, 30], discount=10), 45)


if __name__ == "__main__":
    unittest.main()
