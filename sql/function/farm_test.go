package function

import "testing"

// The values are those of FarmHash, for every way in which it reads bytes.
func TestFingerprintIsThatOfFarmHash(t *testing.T) {
	text := make([]byte, 300)
	for i := range text {
		text[i] = byte(i * 7)
	}
	for _, q := range []struct {
		n    int
		want uint64
	}{
		{0, 0x9ae16a3b2f90404f},
		{3, 0x6cc1a093e8224428},
		{7, 0x0f95c16a7544a65b},
		{16, 0xfbb2740319962d9b},
		{17, 0xa55b9970b7b70074},
		{32, 0x0a9d86aa8d37da5c},
		{33, 0xfb43f626c43b2047},
		{64, 0xe0446dd71a78f98a},
		{65, 0x184a25714b2ce96b},
		{128, 0xa7b5b6228208c47b},
		{129, 0xecb25d796437d25b},
		{300, 0x8c2ca66606a47410},
	} {
		if got := Fingerprint(text[:q.n]); got != q.want {
			t.Errorf("the fingerprint of %d bytes is %#x, want %#x", q.n, got, q.want)
		}
	}
}
