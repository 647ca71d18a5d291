import unittest

from shipping import shipping


class Shipping(unittest.TestCase):
    def test_light(self):
        self.assertEqual(shipping(1), 5)

    def test_heavy(self):
        self.assertEqual(shipping(3), 9)


if __name__ == "__main__":
    unittest.main()
