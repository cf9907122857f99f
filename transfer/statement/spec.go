// Package statement turns the shell's import and export statements into requests of package
// transfer, and their results into text for people.
package statement

import (
	"strings"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/transfer"
)

// Import is an import statement as a request, without its streams.
func Import(st *ql.Import) transfer.Spec {
	return transfer.Spec{
		Path: st.Path, Format: st.As, Key: st.Key, Columns: templated(mappings(st.Columns)), Timestamp: st.Timestamp, NA: st.NA, KeepEmpty: st.KeepEmpty,
		BadLines: st.BadLines, Batch: st.Batch, Again: st.Again, Overlap: st.Overlap, DryRun: st.DryRun,
		Bad: st.Bad, Encoding: st.Written.Encoding, Dialect: dialect(st.Written),
	}
}

// Export is an export statement as a request, without its streams and options.
func Export(st *ql.Export) transfer.ExportSpec {
	return transfer.ExportSpec{Path: st.To, Format: st.As, Bytes: st.Bytes, Wide: mappings(st.Wide), AllWide: st.AllWide, Overwrite: st.Overwrite}
}

// dialect is a file's form by a statement.
func dialect(w ql.Written) transfer.Dialect {
	return transfer.Dialect{Separator: w.Separator, Quote: w.Quote, Header: w.Header, Skip: w.Skip, Comment: w.Comment, Decimal: w.Decimal, Ragged: w.Ragged}
}

func mappings(list []ql.Mapping) (mapped []transfer.Mapping) {
	for _, m := range list {
		mapped = append(mapped, transfer.Mapping{Family: m.Column.Family, Qualifier: m.Column.Qualifier, Field: m.Field, Type: m.Type, All: m.Column.Kind == ql.ColumnFamily})
	}
	return mapped
}

// templated makes templates of qualifiers with braces, as of an import's key.
func templated(list []transfer.Mapping) []transfer.Mapping {
	for i := range list {
		if m := &list[i]; strings.ContainsAny(m.Qualifier, "{}") {
			m.Template = m.Qualifier
		}
	}
	return list
}
