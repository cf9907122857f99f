package schema

import (
	"errors"
	"fmt"
)

// MaxNameLen is the most bytes that the name of a table or a family may have.
const MaxNameLen = 64

// CheckTableName returns an error unless name can name a table: 1 to
// [MaxNameLen] ASCII letters, digits, '_', '.' or '-', the first of them not
// '.' or '-'. Names are case-sensitive.
func CheckTableName(name string) error { return checkName(name) }

// CheckFamilyName returns an error unless name can name a column family. The
// rule is that of [CheckTableName].
func CheckFamilyName(name string) error { return checkName(name) }

func checkName(name string) error {
	if name == "" {
		return errors.New("the name is missing")
	}
	if len(name) > MaxNameLen {
		return fmt.Errorf("the name %q… has %d bytes; at most %d are allowed", name[:16], len(name), MaxNameLen)
	}
	for i := range len(name) {
		c := name[i]
		if !wordByte(c) && (i == 0 || c != '.' && c != '-') {
			return fmt.Errorf("the name %q is not [A-Za-z0-9_][A-Za-z0-9_.-]*: %q cannot stand at byte %d", name, c, i)
		}
	}
	return nil
}

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
