package schema

// A KeyFormat is the form of a table's row keys. It decides how they are shown; a
// key may be any bytes in either format.
type KeyFormat uint8

// The key formats.
const (
	// PlainKeys are text or bytes of no known form.
	PlainKeys KeyFormat = iota
	// TupleKeys are tuples, as package tuple packs them.
	TupleKeys
)

var keyFormatNames = [...]string{"plain", "tuple"}

// String is the format's name in YAML, "plain" or "tuple".
func (k KeyFormat) String() string { return nameOf("keyformat", k, keyFormatNames[:]) }

func (k KeyFormat) valid() bool { return int(k) < len(keyFormatNames) }

// KeyFormats are the names of the key formats.
func KeyFormats() []string { return keyFormatNames[:] }

// ParseKeyFormat is the key format with this name.
func ParseKeyFormat(name string) (KeyFormat, error) {
	return parseName[KeyFormat]("key format", name, keyFormatNames[:])
}
