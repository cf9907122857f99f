//go:build format3

package main

import (
	"context"

	"github.com/smolwc/smolwc/query"
)

// drop leaves nothing of the table: format 3 keeps no deleted ones.
func drop(ctx context.Context, db *query.DB) error { return db.DropTable(ctx, "dropped") }
