// Package shardmap reads shard maps: JSON files, in the form of Pinterest's Rocksplicator,
// that name the servers of each instance and say which of them leads it.
//
//	{
//	  "projects/acme/instances/main": {
//	    "num_shards": 1,
//	    "db1:8086:eu-west-1a_0": ["00000:M"],
//	    "db2:8086:eu-west-1b_0": ["00000:S"]
//	  }
//	}
//
// A resource is an instance of Bigtable's API: its full name, or its id alone, which
// stands for the instances with this id in all projects that have no resource of their
// own. Each instance is one shard, so it lives on one server as a whole. M, for master, is
// the server that leads, and S, for slave, is a standby of it.
//
// A map is changed by replacing its file, as [Write] does. [Watch] follows a file.
package shardmap

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Map says which server leads which instance. It never changes, so goroutines may share
// it.
type Map struct {
	// Resources are sorted by their names.
	Resources []Resource
	byName    map[string]int
}

// A Resource is an instance and its servers.
type Resource struct {
	Name     string   // projects/P/instances/I, or I
	Leader   Server   // takes the writes
	Standbys []Server // have copies, and serve reads; in the order of the file
}

// A Server is a server of a resource.
type Server struct {
	Addr string // HOST:PORT
	// Place is where the server is: AZ_PG, its availability zone and its placement group.
	// smolwc keeps it and does not use it. It may be empty.
	Place string
}

// Find is the resource of an instance, given as projects/P/instances/I. A resource with
// the full name comes before one with the id alone.
func (m *Map) Find(instance string) (Resource, bool) {
	if m == nil {
		return Resource{}, false
	}
	i, ok := m.byName[instance]
	if !ok {
		i, ok = m.byName[instance[strings.LastIndexByte(instance, '/')+1:]]
	}
	if !ok {
		return Resource{}, false
	}
	return m.Resources[i], true
}

// Names are the names of all resources, sorted.
func (m *Map) Names() []string {
	if m == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(m.byName))
}

// Has reports whether an address belongs to a server of the map.
func (m *Map) Has(addr string) bool {
	if m == nil {
		return false
	}
	return slices.ContainsFunc(m.Resources, func(r Resource) bool {
		return r.Leader.Addr == addr || r.isStandby(addr)
	})
}

func (r Resource) isStandby(addr string) bool {
	return slices.ContainsFunc(r.Standbys, func(s Server) bool { return s.Addr == addr })
}

// make sorts the resources, and makes the index of their names.
func (m *Map) make() {
	slices.SortFunc(m.Resources, func(a, b Resource) int { return strings.Compare(a.Name, b.Name) })
	m.byName = make(map[string]int, len(m.Resources))
	for i, r := range m.Resources {
		m.byName[r.Name] = i
	}
}

// Promoted is the map after the promotion of a standby: it leads all instances that it
// followed, and the server that led them is a standby. moved are the names of these
// instances. It is an error if no such standby is in the map.
func (m *Map) Promoted(addr string) (after *Map, moved []string, err error) {
	after = new(Map)
	if m != nil {
		after.Resources = slices.Clone(m.Resources)
	}
	for i, r := range after.Resources {
		at := slices.IndexFunc(r.Standbys, func(s Server) bool { return s.Addr == addr })
		if at < 0 {
			continue
		}
		r.Standbys = slices.Clone(r.Standbys)
		r.Leader, r.Standbys[at] = r.Standbys[at], r.Leader
		after.Resources[i] = r
		moved = append(moved, r.Name)
	}
	switch {
	case len(moved) > 0:
	case m.Has(addr):
		return nil, nil, fmt.Errorf("the map has %s as a server that leads, and not as a standby", addr)
	default:
		return nil, nil, fmt.Errorf("the map does not have the server %s; its addresses must be those of the map", addr)
	}
	after.make()
	return after, moved, nil
}

// MarshalJSON is the text that [Parse] reads. It implements [json.Marshaler].
func (m *Map) MarshalJSON() ([]byte, error) {
	all := map[string]map[string]any{}
	if m != nil {
		for _, r := range m.Resources {
			all[r.Name] = map[string]any{shards: 1, r.Leader.key(): []string{onlyShard + ":" + leads}}
			for _, s := range r.Standbys {
				all[r.Name][s.key()] = []string{onlyShard + ":" + follows}
			}
		}
	}
	return json.Marshal(all)
}

// key is the name of a server in the file.
func (s Server) key() string {
	if s.Place == "" {
		return s.Addr
	}
	return s.Addr + ":" + s.Place
}

// maxBytes is the largest file that is read.
const maxBytes = 16 << 20

// Load reads a file. Its errors begin with the file's name and, where they are about a
// place in it, the line.
func Load(file string) (*Map, error) {
	text, err := readFile(file)
	if err != nil {
		return nil, err
	}
	return parseFile(file, text)
}

func readFile(file string) ([]byte, error) {
	switch info, err := os.Stat(file); {
	case err != nil:
	case info.Mode()&(fs.ModeNamedPipe|fs.ModeDevice|fs.ModeSocket) != 0:
		return nil, fmt.Errorf("%s is a pipe or a device; a shard map is a file, which is read again when it changes", file)
	case info.Size() > maxBytes:
		return nil, fmt.Errorf("%s: the file has %d MiB; a shard map may have up to %d", file, info.Size()>>20, maxBytes>>20)
	}
	return os.ReadFile(file)
}

func parseFile(file string, text []byte) (*Map, error) {
	m, err := Parse(text)
	if wrong, ok := errors.AsType[*SyntaxError](err); ok {
		return nil, fmt.Errorf("%s:%d: %s", file, wrong.Line, wrong.Text)
	}
	return m, err
}

// Write replaces a file by one with the map, all at once: other processes read one of the
// two as a whole. The file keeps its mode. If it is a symbolic link, the file where it
// leads is replaced.
func Write(file string, m *Map) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if _, err := Parse(text); err != nil {
		return fmt.Errorf("the shard map is not valid, and is not written: %w", err)
	}
	mode := os.FileMode(0o644)
	if to, err := filepath.EvalSymlinks(file); err == nil {
		file = to
		if info, err := os.Stat(file); err == nil {
			mode = info.Mode().Perm()
		}
	}
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
