package schema

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/smolwc/smolwc/internal/excerpt"
)

// MaxNameLen is the greatest length, in bytes, of a family's name, of a table's plain
// name, and of each part of a table's name with slashes.
const MaxNameLen = 64

// CheckTableName returns an error unless name can name a table: 1 to
// [MaxNameLen] ASCII letters, digits, '_', '.' or '-', the first of them not
// '.' or '-'. Names are case-sensitive.
//
// The name of a table in a namespace consists of three such parts, with slashes between
// them: Bigtable's project, instance and table. The project may have colons too.
func CheckTableName(name string) error {
	parts := strings.Split(name, "/")
	switch len(parts) {
	case 1:
		return plainName.check(name)
	case 3:
		return cmp.Or(projectName.check(parts[0]), plainName.check(parts[1]), plainName.check(parts[2]))
	}
	return fmt.Errorf("the name %q has %d parts between slashes; it is one name, or project/instance/table", excerpt.Of(name), len(parts))
}

// CheckFamilyName returns an error unless name can name a column family. The rule is
// Bigtable's: as for a table's name, but any of the characters may be the first.
func CheckFamilyName(name string) error { return familyName.check(name) }

// A nameRule is the characters of a name besides letters, digits and '_'.
type nameRule struct {
	text        string
	first, rest string
}

var (
	plainName   = nameRule{"[A-Za-z0-9_][A-Za-z0-9_.-]*", "", ".-"}
	projectName = nameRule{"[A-Za-z0-9_][A-Za-z0-9_.:-]*", "", ".:-"}
	familyName  = nameRule{"[A-Za-z0-9_.-]+", ".-", ".-"}
)

func checkName(name string) error { return plainName.check(name) }

func (rule nameRule) check(name string) error {
	if name == "" {
		return errors.New("the name is missing")
	}
	if len(name) > MaxNameLen {
		return fmt.Errorf("the name %q… has %d bytes; at most %d are allowed", name[:16], len(name), MaxNameLen)
	}
	for i := range len(name) {
		allowed := rule.rest
		if i == 0 {
			allowed = rule.first
		}
		if c := name[i]; !wordByte(c) && strings.IndexByte(allowed, c) < 0 {
			return fmt.Errorf("the name %q is not %s: %q is not allowed at byte %d", name, rule.text, c, i)
		}
	}
	return nil
}

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// derivedProject begins the names of derived tables. No client can use a project of this
// name.
const derivedProject = "smolwc:views"

// DerivedName is the name of a table that smolwc itself keeps for the table, or the view,
// named of. kind is a plain name that says what the table is for.
func DerivedName(kind, of string) string {
	if strings.Contains(of, "/") || len(of) > MaxNameLen {
		sum := sha256.Sum256([]byte(of))
		return derivedProject + "/" + kind + "-of/" + hex.EncodeToString(sum[:16])
	}
	return derivedProject + "/" + kind + "/" + of
}

// HistoryTable is the table in which a server keeps the history of its metrics.
const HistoryTable = derivedProject + "/history/server"

// IsDerived reports whether a name belongs to a table that smolwc keeps for another one,
// or for itself.
func IsDerived(table string) bool { return strings.HasPrefix(table, derivedProject+"/") }

// MarksOf is the name of the table with the marks of a table: the keys of its rows that
// have changed. See Marks in package query/plumbing.
func MarksOf(table string) string { return DerivedName("marks", table) }
