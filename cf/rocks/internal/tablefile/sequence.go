package tablefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// SequenceName is the end of the name of a property of table files that were made
// outside of a database: their sequence number, in 8 bytes right after the name. Only
// the end of the name is in the file, which leaves out the prefix that a name shares
// with the one before. The properties come after all data and the index.
var SequenceName = []byte("sst_file.global_seqno")

const propertiesTail = 256 << 10 // more than the properties and the footer take

// ClearSequence clears the sequence number of a file that the engine may have begun to
// ingest. The engine writes the number before the file is part of the database, and
// refuses a file that is already numbered. The checksum of the properties does not
// cover the number.
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
