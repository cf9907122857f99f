//go:build !format3

package main

import (
	"context"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// drop keeps the table for some days.
func drop(ctx context.Context, db *query.DB) error {
	return db.ApplyPlan(ctx, schema.Plan{Changes: []schema.Change{{Kind: schema.DeleteTable, Table: "dropped"}}})
}
