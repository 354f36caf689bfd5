"""The named random streams of src/seed.rs, written a second time from their description, so that noise can be given."""

import hashlib
import math
import struct

MASK = 0xFFFFFFFF


def _quarter(s, a, b, c, d):
    for x, y, z, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        s[x] = (s[x] + s[y]) & MASK
        s[z] ^= s[x]
        s[z] = ((s[z] << turn) | (s[z] >> (32 - turn))) & MASK


def _block(key, counter):
    start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *key, counter & MASK, counter >> 32, 0, 0]
    s = list(start)
    for _ in range(4):
        _quarter(s, 0, 4, 8, 12)
        _quarter(s, 1, 5, 9, 13)
        _quarter(s, 2, 6, 10, 14)
        _quarter(s, 3, 7, 11, 15)
        _quarter(s, 0, 5, 10, 15)
        _quarter(s, 1, 6, 11, 12)
        _quarter(s, 2, 7, 8, 13)
        _quarter(s, 3, 4, 9, 14)
    return [(x + y) & MASK for x, y in zip(s, start)]


class Stream:
    """ChaCha8 keyed by SHA-256 of (seed, name, index)."""

    def __init__(self, seed, name, index):
        data = b"thickset stream 1" + struct.pack("<Q", seed) + b"\x01" + struct.pack("<Q", index) + name.encode()
        self.key = struct.unpack("<8I", hashlib.sha256(data).digest())
        self.counter, self.words, self.spare = 0, [], None

    def bits(self):
        if not self.words:
            self.words = _block(self.key, self.counter)
            self.counter += 1
        low, high = self.words.pop(0), self.words.pop(0)
        return low | high << 32

    def uniform(self):
        return (self.bits() >> 11) / 2**53

    def normal(self):
        """Marsaglia's polar method."""
        if self.spare is not None:
            value, self.spare = self.spare, None
            return value
        while True:
            x, y = 2 * self.uniform() - 1, 2 * self.uniform() - 1
            square = x * x + y * y
            if 0 < square < 1:
                factor = math.sqrt(-2 * math.log(square) / square)
                self.spare = y * factor
                return x * factor
