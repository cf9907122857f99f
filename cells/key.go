package cells

import "fmt"

// The bounds of row keys, qualifiers and values, in bytes: Bigtable's.
const (
	MaxRowKey    = 4096
	MaxQualifier = 16384
	MaxValue     = 100 << 20
)

// CheckRowKey is the rule for row keys: 1 to [MaxRowKey] bytes, any bytes.
func CheckRowKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("row key is empty; it must have 1 to %d bytes", MaxRowKey)
	case len(key) > MaxRowKey:
		return fmt.Errorf("row key of %d bytes starting %q is too long; it must have 1 to %d bytes", len(key), key[:40], MaxRowKey)
	}
	return nil
}
