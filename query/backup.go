package query

import "context"

// Dir is the directory that the database lies in, as an absolute path; "" for
// one in memory, and for one that [OpenStore] opened.
func (db *DB) Dir() string {
	if db == nil {
		return ""
	}
	return db.state.Dir
}

// keyBackup is the catalog's entry with the target of the last backup, as text.
const keyBackup = "backup/target"

// BackupTarget is the target of the last backup, as noted with
// [DB.SetBackupTarget]; "" when there was no backup.
func (db *DB) BackupTarget(ctx context.Context) (string, error) {
	const op = "read backup target"
	snap, err := db.snapshot(ctx)
	if err != nil {
		return "", fail(op, "", "", err)
	}
	defer snap.Close()
	text, err := snap.Meta(ctx, keyBackup)
	return string(text), fail(op, "", "", err)
}

// SetBackupTarget notes in the catalog the target of the last backup.
func (db *DB) SetBackupTarget(ctx context.Context, target string) error {
	return fail("note backup target", "", "", db.setNote(ctx, keyBackup, []byte(target)))
}
