package shardmap_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/smolwc/smolwc/shardmap"
)

func Example() {
	m, err := shardmap.Parse([]byte(`{
	  "projects/acme/instances/main": {
	    "num_shards": 1,
	    "db1:8086:eu-west-1a_0": ["00000:M"],
	    "db2:8086:eu-west-1b_0": ["00000:S"]
	  }
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	r, _ := m.Find("projects/acme/instances/main")
	fmt.Println(r.Leader.Addr)
	m, moved, err := m.Promoted("db2:8086")
	if err != nil {
		fmt.Println(err)
		return
	}
	r, _ = m.Find("projects/acme/instances/main")
	fmt.Println(r.Leader.Addr, "leads", moved)
	// Output:
	// db1:8086
	// db2:8086 leads [projects/acme/instances/main]
}

// Valid maps, and the errors of others.
func TestParse(t *testing.T) {
	datadriven.RunTest(t, "testdata/parse", func(t *testing.T, d *datadriven.TestData) string {
		m, err := shardmap.Parse([]byte(d.Input))
		if err != nil {
			return err.Error() + "\n"
		}
		var b strings.Builder
		for _, r := range m.Resources {
			fmt.Fprintf(&b, "%s: %v leads, standbys %v\n", r.Name, r.Leader, r.Standbys)
		}
		for _, arg := range d.CmdArgs {
			for _, name := range arg.Vals {
				r, ok := m.Find(name)
				fmt.Fprintf(&b, "find %s: %q %v\n", name, r.Name, ok)
			}
		}
		return b.String()
	})
}

const one = `{"main": {"num_shards": 1, "db1:8086": ["00000:M"], "db2:8086:b_0": ["00000:S"]}}`

const two = `{
  "main": {"num_shards": 1, "db1:8086": ["00000:M"], "db2:8086:b_0": ["00000:S"]},
  "more": {"num_shards": 1, "db1:8086": ["00000:M"]}
}`

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// A watcher takes a new file over, keeps the map before when a file is not valid or is
// gone, and goes on with the next valid one.
func TestWatch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "map.json")
	if _, err := shardmap.Watch(t.Context(), file, shardmap.WatchOptions{}); err == nil {
		t.Error("a file that is missing is no error")
	}
	write(t, file, one)
	w, err := shardmap.Watch(t.Context(), file, shardmap.WatchOptions{Every: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	m, changed := w.Map()
	promoted, _, err := m.Promoted("db2:8086")
	if err != nil {
		t.Fatal(err)
	}
	if err := shardmap.Write(file, promoted); err != nil {
		t.Fatal(err)
	}
	<-changed
	if m, changed = w.Map(); m.Resources[0].Leader.Addr != "db2:8086" {
		t.Errorf("after the change %v leads", m.Resources[0].Leader)
	}
	for _, bad := range []func(){
		func() { write(t, file, one[:20]) },
		func() { _ = os.Remove(file) },
		func() { write(t, file, "{}") },
	} {
		was := w.Err()
		bad()
		for w.Err() == nil || was != nil && w.Err().Error() == was.Error() {
			time.Sleep(time.Millisecond)
		}
		if now, _ := w.Map(); now != m || !strings.Contains(w.Err().Error(), file) {
			t.Errorf("a bad file: another map, or %v", w.Err())
		}
	}
	write(t, file, one)
	<-changed
	if now, _ := w.Map(); now.Resources[0].Leader.Addr != "db1:8086" || w.Err() != nil || w.Changes() != 2 {
		t.Errorf("after a valid file %v leads, error %v, %d changes", now.Resources[0].Leader, w.Err(), w.Changes())
	}
}

// A promotion that no map can have is an error, and Write replaces nothing by it. The file
// keeps its mode, and a link leads to the new file.
func TestWrite(t *testing.T) {
	m, err := shardmap.Parse([]byte(two))
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[string]string{"db1:8086": "not as a standby", "db3:8086": "does not have the server"} {
		if _, _, err := m.Promoted(addr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", addr, err)
		}
	}
	// db1 leads the instance more too, so it cannot become a standby for one alone.
	dir := t.TempDir()
	file, link := filepath.Join(dir, "map.json"), filepath.Join(dir, "link.json")
	write(t, file, two)
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	after, _, err := m.Promoted("db2:8086")
	if err == nil {
		err = shardmap.Write(link, after)
	}
	if err == nil || !strings.Contains(err.Error(), "one of both") {
		t.Errorf("a promotion for one of two instances: %v", err)
	}
	if text, _ := os.ReadFile(file); string(text) != two {
		t.Error("the file was changed")
	}
	if err := shardmap.Write(link, m); err != nil {
		t.Fatal(err)
	}
	again, err := shardmap.Load(file)
	if err != nil || !reflect.DeepEqual(again, m) {
		t.Errorf("read back: %v, %v", again, err)
	}
	if info, err := os.Lstat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
}

// A map that is read is written so that it is read as the same.
func FuzzParse(f *testing.F) {
	f.Add([]byte(two))
	f.Add([]byte(`{"projects/p/instances/i": {"num_shards": 1, "[::1]:1:a": ["00000:M"]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := shardmap.Parse(text)
		if err != nil {
			return
		}
		out, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		again, err := shardmap.Parse(out)
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		for i, r := range m.Resources {
			if a := again.Resources[i]; a.Name != r.Name || a.Leader != r.Leader || len(a.Standbys) != len(r.Standbys) {
				t.Errorf("%v was written as %v", r, a)
			}
		}
	})
}
