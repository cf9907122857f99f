package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/query"
)

func TestCheckCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	smolwc := func(args ...string) (code int, out, errs string) {
		var stdout, stderr bytes.Buffer
		code = run(append([]string{"--db", dir}, args...), strings.NewReader(""), &stdout, &stderr, func(string) string { return "" })
		return code, stdout.String(), stderr.String()
	}
	if code, _, errs := smolwc("check"); code != exitOpen || !strings.Contains(errs, "does not exist") {
		t.Errorf("no database: exit %d, %s", code, errs)
	}
	// Large enough to begin with a block of cells. Its end is checked
	// when it is read.
	value := strings.Repeat("v", 1000)
	if code, out, errs := smolwc("-c", "create table t family f, family g", "-c", "put t a f:x='"+value+"' g:y=1", "-c", "put t b f:x=2", "-c", "gc t"); code != 0 {
		t.Fatalf("exit %d, %s%s", code, out, errs)
	}
	code, out, errs := smolwc("check")
	if code != 0 || !strings.HasSuffix(out, "nothing is wrong\n") || !strings.Contains(out, "t/f\n") || errs != "" {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if code, out, _ := smolwc("check", "--format", "json"); code != 0 || !json.Valid([]byte(out)) || !strings.Contains(out, `"ok":true`) {
		t.Errorf("exit %d, %s", code, out)
	}
	if code, _, errs := smolwc("check", "--format", "csv"); code != exitUsage || !strings.Contains(errs, "table or json") {
		t.Errorf("exit %d, %s", code, errs)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.sst"))
	problems := 0
	for _, file := range files {
		pristine, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		damaged := bytes.Clone(pristine)
		damaged[10] ^= 1
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, errs := smolwc("check")
		switch {
		case code == exitOpen && strings.Contains(errs, "corrupt"): // it held the catalog
		case code != exitFailed || !strings.Contains(out, "problem: file "+filepath.Base(file)) || errs != "":
			t.Errorf("exit %d, %s%s", code, out, errs)
		default:
			problems++
		}
		if err := os.WriteFile(file, pristine, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if problems == 0 && query.DefaultEngine() == query.EngineRocksDB { // on Pebble the catalog is in the same file
		t.Errorf("of the files %q none was opened and found damaged", files)
	}
	if err := os.Remove(filepath.Join(dir, "CURRENT")); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := smolwc("check"); code != exitOpen || !strings.Contains(errs, "corrupt") {
		t.Errorf("without CURRENT: exit %d, %s", code, errs)
	}
}
