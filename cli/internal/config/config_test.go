package config_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cli/internal/config"
	"github.com/smolwc/smolwc/schema"
)

// load reads with flags and an environment of the test's own.
func load(path, db string, env map[string]string) (*config.Config, error) {
	return config.Load(context.Background(), config.LoadOptions{Path: path, DB: db, Getenv: func(name string) string { return env[name] }})
}

// TestBadFiles reads testdata/*.bad.yml. Each begins with the message it must
// give, one comment line for each fault.
func TestBadFiles(t *testing.T) {
	for _, path := range files(t, "testdata/*.bad.yml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			want := strings.ReplaceAll(comment(t, path), "line ", path+":")
			c, err := load(path, "", nil)
			if err == nil || err.Error() != want {
				t.Errorf("got\n%v\nwant\n%s", err, want)
			}
			if c != nil {
				t.Error("a configuration comes with the error")
			}
		})
	}
}

// TestGoodFiles reads testdata/*.good.yml. Each begins with what it sets.
func TestGoodFiles(t *testing.T) {
	for _, path := range files(t, "testdata/*.good.yml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			c, err := load(path, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := shown(c), comment(t, path); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if c.Path != path {
				t.Errorf("path is %s", c.Path)
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

// comment is the comment at the head of a file.
func comment(t *testing.T, path string) string {
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
	return strings.Join(lines, "\n")
}

func shown(c *config.Config) string {
	tables := "none"
	if c.Schema != nil {
		tables = fmt.Sprint(len(c.Schema.Tables))
	}
	return fmt.Sprintf("data_dir=%s durability=%s memory=%d background_rate=%d log_level=%v tables=%s",
		c.DataDir, c.Durability, c.Memory, c.BackgroundRate, c.LogLevel, tables)
}

// Names keep their case on the way through.
func TestTablesKeepTheirNames(t *testing.T) {
	c, err := load("testdata/all.good.yml", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	table, ok := c.Schema.Table("Fleet.Old")
	if !ok {
		t.Fatalf("got %v", c.Schema)
	}
	if f, ok := table.Family("Meta"); !ok || f.GC.String() != "max_versions=1" {
		t.Errorf("got %v", table)
	}
}

// The flag overrides the environment, and the environment overrides the file.
func TestDataDirPrecedence(t *testing.T) {
	env := map[string]string{"SMOLWC_DB": "from-env"}
	for _, c := range []struct {
		path, db string
		env      map[string]string
		want     string
	}{
		{"testdata/empty.good.yml", "", nil, "./data"},
		{"testdata/all.good.yml", "", nil, "2024"},
		{"testdata/all.good.yml", "", env, "from-env"},
		{"testdata/all.good.yml", "from-flag", env, "from-flag"},
	} {
		got, err := load(c.path, c.db, c.env)
		if err != nil || got.DataDir != c.want {
			t.Errorf("%+v: got %v, %v", c, got, err)
		}
	}
}

func TestEnginePrecedence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	for _, c := range []struct{ text, flag, env, want string }{
		{"", "", "", ""},
		{"engine: pebble", "", "", "pebble"},
		{"engine: pebble", "", "rocksdb", "rocksdb"},
		{"engine: pebble", "rocksdb", "pebble", "rocksdb"},
		{"engine: peble", "", "", `unknown value "peble"; did you mean "pebble"?`},
		{"", "peble", "", `--engine: unknown value "peble"`},
		{"", "", "tikv", `$SMOLWC_ENGINE: unknown value "tikv"; want one of rocksdb, pebble`},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		getenv := func(name string) string { return map[string]string{"SMOLWC_ENGINE": c.env}[name] }
		got, err := config.Load(t.Context(), config.LoadOptions{Path: file, Engine: c.flag, Getenv: getenv})
		if err != nil && strings.Contains(err.Error(), c.want) && strings.Contains(c.want, " ") {
			continue
		}
		if err != nil || got.Engine != c.want {
			t.Errorf("%+v: got %+v, %v", c, got, err)
		}
	}
}

func TestWhichFile(t *testing.T) {
	all, err := filepath.Abs("testdata/all.good.yml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	env := map[string]string{"SMOLWC_CONFIG": all}

	if c, err := load("", "", nil); err != nil || c.Path != "" || c.Schema != nil || c.DataDir != "./data" {
		t.Errorf("no file at all: got %+v, %v", c, err)
	}
	if err := os.WriteFile("config.yaml", []byte("data_dir: here"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := load("", "", nil); err != nil || c.Path != "config.yaml" || c.DataDir != "here" {
		t.Errorf("config.yaml in the working directory: got %+v, %v", c, err)
	}
	if c, err := load("", "", env); err != nil || c.Path != all {
		t.Errorf("a file in the environment: got %+v, %v", c, err)
	}
	if c, err := load("config.yaml", "", env); err != nil || c.DataDir != "here" {
		t.Errorf("a file by flag: got %+v, %v", c, err)
	}
}

// A named file must exist.
func TestAbsentFile(t *testing.T) {
	t.Chdir(t.TempDir())
	for want, c := range map[string]struct {
		path string
		env  map[string]string
	}{
		"the configuration file that --config names: open absent.yml: no such file or directory":       {"absent.yml", nil},
		"the configuration file that $SMOLWC_CONFIG names: open absent.yml: no such file or directory": {"", map[string]string{"SMOLWC_CONFIG": "absent.yml"}},
	} {
		_, err := load(c.path, "", c.env)
		if !errors.Is(err, fs.ErrNotExist) || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	if err := os.Mkdir("config.yaml", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := load("", "", nil); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("config.yaml is a directory: %v", err)
	}
}

// The schema's reader ignores all settings in the same file.
func TestSchemaReadsTheSameFile(t *testing.T) {
	s, err := schema.Load("testdata/all.good.yml")
	if err != nil || len(s.Tables) != 1 {
		t.Errorf("got %v, %v", s, err)
	}
}

// The annotated example has the defaults.
func TestExampleFile(t *testing.T) {
	example, err := load("../../../config.yaml", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	fleet, ok := example.Schema.Table("fleet")
	if !ok {
		t.Fatal("no table fleet")
	}
	var families []string
	for _, f := range fleet.Families {
		families = append(families, f.String())
	}
	want := "meta max_versions=1; loc type=string; time type=i32; delay type=i32; flight max_versions=100"
	if got := strings.Join(families, "; "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	bare, err := load("testdata/empty.good.yml", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	example.Schema = nil
	if shown(example) != shown(bare) {
		t.Errorf("config.yaml sets %s\nthe defaults are %s", shown(example), shown(bare))
	}
}

// FuzzLoad: no text of a file panics.
func FuzzLoad(f *testing.F) {
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
		path := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := load(path, "", nil)
		if e := new(schema.Errors); err != nil && (!errors.As(err, &e) || e.File != path) {
			t.Fatalf("%v is not an *Errors that names the file", err)
		}
		if err == nil && (c.Memory < config.MinMemory || c.DataDir == "") {
			t.Fatalf("accepted, yet %+v", c)
		}
	})
}
