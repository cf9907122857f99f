package schema_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/schema"
)

// TestBadFiles reads testdata/*.bad.yml. Each begins with the message it must
// give, one comment line for each fault.
func TestBadFiles(t *testing.T) {
	for _, path := range files(t, "testdata/*.bad.yml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, want := readCase(t, path)
			s, err := schema.Parse(text)
			if err == nil {
				t.Fatalf("no error; want\n%s", want)
			}
			if got := err.Error(); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if s != nil {
				t.Error("a schema comes with the error")
			}
			if e := new(schema.Errors); !errors.As(err, &e) || len(e.Faults) == 0 {
				t.Errorf("%T is not an *Errors with faults", err)
			}
		})
	}
}

// TestGoodFiles reads testdata/*.good.yml. Each begins with the schema it
// declares, in comment lines.
func TestGoodFiles(t *testing.T) {
	for _, path := range files(t, "testdata/*.good.yml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, want := readCase(t, path)
			s, err := schema.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := outline(s); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func files(t *testing.T, pattern string) []string {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	return paths
}

// readCase returns a file and the comment at its head.
func readCase(t *testing.T, path string) (text []byte, comment string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "# ") {
			break
		}
		lines = append(lines, strings.TrimSuffix(line[2:], "\n"))
	}
	return text, strings.Join(lines, "\n")
}

func outline(s *schema.Schema) string {
	var lines []string
	for _, t := range s.Tables {
		line := "table " + t.Name
		if t.Retention != schema.Exact {
			line += " retention " + t.Retention.String()
		}
		if t.KeyFormat != schema.PlainKeys {
			line += " key_format " + t.KeyFormat.String()
		}
		if t.ChangeStream != 0 {
			line += " change_stream " + schema.FormatChangeStream(t.ChangeStream)
		}
		lines = append(lines, line)
		for _, f := range t.Families {
			lines = append(lines, "  family "+f.String())
		}
	}
	return strings.Join(lines, "\n")
}

// TestHostileText has texts that cannot be files in testdata, which begin with a
// comment.
func TestHostileText(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "line 1: there is no list of tables; want tables: [...]",
		"---\n":                  "line 2: there is no list of tables; want tables: [...]",
		"tabels: []":             "line 1: unknown key \"tabels\"; did you mean \"tables\"?\nline 1: there is no list of tables; want tables: [...]",
		"- a":                    "line 1: want a mapping with the keys tables, data_dir, durability, memory, background_rate, log_level, not a list",
		"tables: []\n#\xff":      "line 2: this is not UTF-8 text",
		"tables: *x":             "malformed YAML: unknown anchor 'x' referenced",
		"\ttables: []":           "line 1: malformed YAML: found character that cannot start any token",
		"tables: &t [*t]":        "line 1: tables[0]: want a mapping with the keys name, families, retention, key_format, change_stream, not an alias (aliases are not supported; write the value out)",
		"tables: []\n--- }":      "line 2: malformed YAML: did not find expected node content",
		"? [a]\n: b\ntables: []": "line 1: a key must be text, not a list",
	} {
		_, err := schema.Parse([]byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}

// Aliases are not followed, so they cannot form a cycle or expand a small file; and
// nesting is limited.
func TestYAMLThatNeverEndsIsAFault(t *testing.T) {
	laughs := "tables:\n- name: t\n  families:\n  - name: f\n    gc: {any: &a0 [{max_versions: 1}, {max_versions: 1}]}\n"
	for i := range 30 {
		laughs += fmt.Sprintf("  - {name: f%d, gc: {any: &a%d [{any: *a%d}, {any: *a%d}]}}\n", i, i+1, i, i)
	}
	nested := "tables: [{name: t, families: [{name: f, gc: " + strings.Repeat("{any: [", 5000) + "{max_versions: 1}" + strings.Repeat("]}", 5000) + "}]}]"
	for name, text := range map[string]string{
		"circle": "tables: [{name: t, families: [{name: f, gc: &g {any: [*g]}}]}]",
		"list":   "tables: [{name: t, families: [{name: f, gc: {any: &g [{any: *g}]}}]}]",
		"merge":  "tables: [{name: t, families: [&f {name: f, <<: *f}]}]",
		"laughs": laughs,
		"nested": nested,
	} {
		if _, err := schema.Parse([]byte(text)); !isFaults(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func isFaults(err error) bool {
	_, ok := errors.AsType[*schema.Errors](err)
	return ok
}

func TestLoadNamesTheFile(t *testing.T) {
	_, err := schema.Load("testdata/tables_null.bad.yml")
	if want := "testdata/tables_null.bad.yml:2: tables: want a list, not nothing"; err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	if _, err := schema.Load("testdata/absent.yml"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
}

// FuzzParse: no text panics, and an accepted schema is valid and in order.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*.bad.yml", "testdata/*.good.yml"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := schema.Parse(text)
		if err != nil {
			if e := new(schema.Errors); !errors.As(err, &e) || len(e.Faults) == 0 {
				t.Fatalf("%T is not an *Errors with faults", err)
			}
			return
		}
		if err := s.Validate(); err != nil {
			t.Fatalf("accepted, yet %v", err)
		}
	})
}
