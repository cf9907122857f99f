package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/smolwc/smolwc/query"
)

// formatVersion is the version of an archive's layout and manifests; docs/backup.md
// describes it. An archive of a larger version is refused. plainVersion is the version
// of a manifest that no schedule made, which older programs read too.
const (
	formatVersion = 2
	plainVersion  = 1
)

// A Sum is a SHA-256.
type Sum [sha256.Size]byte

// String is the sum in hexadecimal.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// MarshalText writes it in hexadecimal.
func (s Sum) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, s[:]), nil }

// UnmarshalText reads 64 lower-case hexadecimal digits.
func (s *Sum) UnmarshalText(text []byte) error {
	if len(text) != 2*len(s) || strings.ToLower(string(text)) != string(text) {
		return fmt.Errorf("%q is not a SHA-256", text)
	}
	_, err := hex.Decode(s[:], text)
	return err
}

// A manifest lists the files of a generation.
type manifest struct {
	Format         int       `json:"format"`
	Generation     int       `json:"generation"`
	Time           time.Time `json:"time"`
	Database       string    `json:"database"`        // the database's identity
	DatabaseFormat int       `json:"database_format"` // of its bytes on disk
	Position       uint64    `json:"position"`
	NewBytes       int64     `json:"new_bytes"` // of objects in no earlier generation
	Scheduled      bool      `json:"scheduled,omitempty"`
	Files          []file    `json:"files"` // by name
}

// A file belongs to the database at the time of the backup.
type file struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Sum  Sum    `json:"sha256"`
	// Tail identifies a file that the engine never changes among all files of its size:
	// see tailOf.
	Tail *Sum `json:"tail_sha256,omitempty"`
}

func (m *manifest) size() (n int64) {
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

func (m *manifest) generation() Generation {
	return Generation{ID: m.Generation, Time: m.Time, Size: m.size(), NewBytes: m.NewBytes, Files: len(m.Files), Database: m.Database, Engine: m.engine(), Position: m.Position, Scheduled: m.Scheduled}
}

// maxManifest bounds the memory for a manifest: about 200 bytes per file.
const maxManifest = 256 << 20

// A manifest's text is {"sha256":"…","manifest":{…}} and a line feed: the sum is the
// SHA-256 of the inner object's bytes.
const (
	manifestHead   = `{"sha256":"`
	manifestMiddle = `","manifest":`
	manifestTail   = "}\n"
)

func (m *manifest) encode() ([]byte, error) {
	body, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return nil, err
	}
	sum := Sum(sha256.Sum256(body))
	return slices.Concat([]byte(manifestHead+sum.String()+manifestMiddle), body, []byte(manifestTail)), nil
}

// decodeManifest reads what encode wrote, and nothing else: no byte of the text
// can change without an error.
func decodeManifest(text []byte) (*manifest, error) {
	if len(text) > maxManifest {
		return nil, errors.New("it is too long for a manifest")
	}
	rest, ok := bytes.CutPrefix(text, []byte(manifestHead))
	var want Sum
	if !ok || len(rest) < 2*len(want) || want.UnmarshalText(rest[:2*len(want)]) != nil {
		return nil, errors.New("it does not begin as a manifest does")
	}
	body, ok := bytes.CutPrefix(rest[2*len(want):], []byte(manifestMiddle))
	if !ok {
		return nil, errors.New("it does not begin as a manifest does")
	}
	if body, ok = bytes.CutSuffix(body, []byte(manifestTail)); !ok {
		return nil, errors.New("it does not end as a manifest does; is it cut off?")
	}
	if got := Sum(sha256.Sum256(body)); got != want {
		return nil, fmt.Errorf("its checksum is %s and should be %s", got, want)
	}
	var version struct{ Format int }
	if err := json.Unmarshal(body, &version); err != nil {
		return nil, err
	}
	if version.Format > formatVersion {
		return nil, fmt.Errorf("it has format %d, written by a newer smolwc; this one reads formats up to %d", version.Format, formatVersion)
	}
	m := new(manifest)
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return nil, err
	}
	return m, m.check()
}

// check refuses files that would be written outside the database's directory, or
// that make no database.
func (m *manifest) check() error {
	if m.Format < 1 || m.Generation < 1 {
		return fmt.Errorf("format %d, generation %d; both count from 1", m.Format, m.Generation)
	}
	seen := map[string]bool{}
	for _, f := range m.Files {
		if f.Name == "" || f.Name == "." || f.Name == ".." || filepath.Base(f.Name) != f.Name || strings.ContainsAny(f.Name, `/\`+"\x00") {
			return fmt.Errorf("%q is not the name of a file", f.Name)
		}
		if f.Size < 0 {
			return fmt.Errorf("file %s has size %d", f.Name, f.Size)
		}
		if seen[f.Name] {
			return fmt.Errorf("file %s is listed twice", f.Name)
		}
		seen[f.Name] = true
	}
	if !seen[currentFile] {
		return fmt.Errorf("it lists no file %s, without which there is no database", currentFile)
	}
	return nil
}

// currentFile is the file that makes a directory a database.
const currentFile = "CURRENT"

// onPebble is the content of CURRENT of a database on Pebble; on RocksDB it names another
// file.
var onPebble = Sum(sha256.Sum256([]byte("pebble\n")))

// engine is the engine of the database.
func (m *manifest) engine() query.Engine {
	for _, f := range m.Files {
		if f.Name == currentFile && f.Sum == onPebble {
			return query.EnginePebble
		}
	}
	return query.EngineRocksDB
}

// A Generation is one backup.
type Generation struct {
	ID       int       // counted from 1
	Time     time.Time // of the moment that it holds
	Size     int64     // of all files, in bytes
	NewBytes int64     // of files that no earlier generation had
	Files    int
	Database string // the database's identity
	Engine   query.Engine
	Position uint64 // of the last write that it surely contains
	// Scheduled says that a [Schedule] made it.
	Scheduled bool
	// Damaged says what is wrong with the manifest, "" if nothing; with damage,
	// only ID is known. Objects are not checked here; [Archive.Verify] checks
	// them.
	Damaged string
}
