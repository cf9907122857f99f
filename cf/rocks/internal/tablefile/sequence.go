package tablefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// SequenceName ends the name of the property under which a table file that was made
// outside keeps the sequence number that it was given, in 8 bytes right behind the
// name; of the name, what it has in common with the one before is not there. The
// properties stand behind all data and index.
var SequenceName = []byte("sst_file.global_seqno")

const propertiesTail = 256 << 10 // more than properties and footer take

// ClearSequence takes the sequence number out of a file that the engine may have
// begun to ingest: it gives it one before the file is part of the database, and
// does not take a file that has one. The checksum of the properties is made
// without it.
func ClearSequence(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	from := max(0, info.Size()-propertiesTail)
	tail, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	if err != nil {
		return errors.Join(err, f.Close())
	}
	at := bytes.LastIndex(tail, SequenceName)
	if at < 0 {
		return errors.Join(fmt.Errorf("%s has no place for a sequence number", path), f.Close())
	}
	_, err = f.WriteAt(make([]byte, 8), from+int64(at+len(SequenceName)))
	return errors.Join(err, f.Sync(), f.Close())
}
