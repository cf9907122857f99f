package directory

import (
	"encoding/binary"
	"fmt"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/rowmap"
)

// The version of the directory layer: major, minor and micro, little-endian. A newer
// minor version can only be read; a newer major version cannot be read either.
const versionNow = "\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// version reads the version of a realm; "" means that the realm is empty.
func (w *work) version(r realm) (string, error) {
	version, found, err := w.get(r.versionKey())
	switch {
	case err != nil || !found:
		return "", err
	case len(version) != len(versionNow):
		return "", rowmap.Fault(query.KindCorruption, "table %s, row %x: not a version of the directories", w.table(), r.versionKey())
	case part(version, 0) > 1:
		return "", tooNew(version, "cannot be read")
	}
	return version, nil
}

// writable fails if the realm cannot be changed, and marks it with the version.
func (w *work) writable(r realm) error {
	version, err := w.version(r)
	switch {
	case err != nil:
		return err
	case version == "":
		return w.mark(r)
	case part(version, 0) == 1 && part(version, 1) > 0:
		return tooNew(version, "can only be read")
	}
	return nil
}

// mark writes the version, and fails if it cannot read it back: cells would expire in
// the family.
func (w *work) mark(r realm) error {
	if err := w.set(r.versionKey(), versionNow); err != nil {
		return err
	}
	_, found, err := w.get(r.versionKey())
	if err == nil && !found {
		err = rowmap.Fault(query.KindFailedPrecondition, "directories would expire in family %q of table %q; its rule must not have a max_age", w.family(), w.table())
	}
	return err
}

func part(version string, i int) uint32 { return binary.LittleEndian.Uint32([]byte(version[4*i:])) }

func tooNew(version, consequence string) error {
	return fmt.Errorf("%w: %d.%d.%d; they %s", ErrVersion, part(version, 0), part(version, 1), part(version, 2), consequence)
}
