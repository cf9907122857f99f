package scan

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/spans"
	"github.com/smolwc/smolwc/query/read"
)

// addCost counts what a cursor did.
func addCost(c *read.Cost, d cf.Cost) {
	c.Families++
	c.Seeks += d.Seeks
	c.RowsScanned += d.RowsScanned
	c.RowsSeen = max(c.RowsSeen, d.RowsScanned)
	c.CellsScanned += d.CellsScanned
	c.BytesScanned += d.BytesScanned
	c.Tombstones += d.Tombstones
	c.Cells += d.Cells
}

// MergeCost adds the cost of a part of a read.
func MergeCost(c *read.Cost, d read.Cost) {
	c.Families = max(c.Families, d.Families)
	c.Seeks += d.Seeks
	c.RowsScanned += d.RowsScanned
	c.RowsSeen += d.RowsSeen
	c.CellsScanned += d.CellsScanned
	c.BytesScanned += d.BytesScanned
	c.Tombstones += d.Tombstones
	c.Cells += d.Cells
	c.Rows += d.Rows
}

// span begins the span of a read, nil if the caller's is not recorded.
func (src *Source) span(ctx context.Context) (context.Context, trace.Span) {
	ctx, s := spans.Begin(ctx, "read")
	if s != nil {
		s.SetAttributes(attribute.String("db.collection.name", src.Table.Name))
	}
	return ctx, s
}

// endSpan ends the span of a read, with its cost.
func endSpan(s trace.Span, c *read.Cost) {
	if s == nil {
		return
	}
	spans.End(s, nil, attribute.Int64("smolwc.rows", c.Rows), attribute.Int("smolwc.families", c.Families), attribute.Int64("smolwc.seeks", c.Seeks),
		attribute.Int64("smolwc.rows_scanned", c.RowsScanned), attribute.Int64("smolwc.cells_scanned", c.CellsScanned),
		attribute.Int64("smolwc.bytes_scanned", c.BytesScanned), attribute.Int64("smolwc.tombstones", c.Tombstones))
}
