// Package dialect knows the parts of the cbt and HBase shells that need no parser:
// their words and smolwc's equivalents, how they write times, values and policies, and
// the text of HBase's filters. Package ql parses the statements.
package dialect

import "slices"

// InsteadOf says what to write in place of a verb of another system that has no
// equivalent statement; it returns "" for any other word. In this package, words passed
// to functions are in lower case.
func InsteadOf(verb string) string { return foreignVerbs[verb] }

// InsteadOfOption is InsteadOf for an option.
func InsteadOfOption(word string) string { return foreignOptions[word] }

// IsIgnored reports whether the option cannot change a statement's result: it sets how
// another system fetches or stores data.
func IsIgnored(option string) bool { return slices.Contains(ignored, option) }

// IsStorage reports whether the option sets how HBase stores a family or a table.
// smolwc makes that choice itself, and the option changes no result.
func IsStorage(option string) bool { return storage[option] }

var foreignVerbs = map[string]string{
	"select": "scan T columns=.. where COL == VALUE reads rows",
	"insert": "put T KEY FAM:QUAL=VALUE writes a row",
	"update": "put T KEY FAM:QUAL=VALUE writes a row",
	"show":   "tables lists the tables",
	"use":    ".use T chooses the table",

	"disable":     "tables need not be disabled; drop table T and alter table T .. work at any time",
	"enable":      "tables are always enabled",
	"is_enabled":  "tables are always enabled; describe T shows one",
	"is_disabled": "tables are always enabled; describe T shows one",
	"disable_all": "tables need not be disabled; drop table T drops one",
	"enable_all":  "tables are always enabled",
	"drop_all":    "drop table T yes drops one table; tables lists them",

	"snapshot":         "backup to 'DIR' keeps a copy; checkpoint 'DIR' makes one that opens at once",
	"restore_snapshot": "restore brings a backup back",
	"clone_snapshot":   "restore brings a backup back",
	"list_snapshots":   "backups lists the backups",
	"list_namespace":   "there are no namespaces; tables lists the tables",
	"create_namespace": "there are no namespaces; a table may be called a.b",
	"drop_namespace":   "there are no namespaces; drop table T drops a table",
	"get_splits":       "one machine holds every table, and it is not split; stats T shows its files",
	"split":            "one machine holds every table, and it is not split",
	"balancer":         "one machine holds every table; there is nothing to balance",
	"get_table":        ".use T chooses the table for statements that leave it out",
	"table_help":       "help lists the statements",
	"tools":            "help lists the statements",
	"whoami":           "the shell has no users: it runs as the user that opened the database",
	"grant":            "there are no users and no permissions besides those of the database's files",
	"revoke":           "there are no users and no permissions besides those of the database's files",
	"scan_meta":        "tables and describe T show what there is",

	"listinstances":           "a database is one directory, and has no instances; tables lists the tables",
	"createinstance":          "a database is one directory, which is made when it is opened",
	"deleteinstance":          "a database is one directory; remove it",
	"listclusters":            "a database is one directory, on one machine",
	"createcluster":           "a database is one directory, on one machine",
	"updatecluster":           "a database is one directory, on one machine",
	"deletecluster":           "a database is one directory, on one machine",
	"listappprofile":          "there are no application profiles",
	"createappprofile":        "there are no application profiles",
	"getappprofile":           "there are no application profiles",
	"updateappprofile":        "there are no application profiles",
	"deleteappprofile":        "there are no application profiles",
	"waitforreplication":      "there is no replication; every read sees all acknowledged writes",
	"createtablefromsnapshot": "restore brings a backup back",
	"createsnapshot":          "backup to 'DIR' keeps a copy",
	"listsnapshots":           "backups lists the backups",
	"doc":                     "help lists the statements",
	"mddoc":                   "help lists the statements",
	"notices":                 "the licences are with the source",
	"version":                 ".version shows it",
}

var ignored = []string{
	"app-profile",                                                                                                                             // cbt
	"interval", "cache", "cache_blocks", "batch", "maxlength", "max_result_size", "isolation_level", "read_type", "attributes", "consistency", // HBase
}

var foreignOptions = map[string]string{
	"authorized-view": "columns= and prefix= choose what is read",
	"format-file":     "a family's type= says what its values are; as FORMAT says how they are printed",
	"formatter":       "as FORMAT says how rows are printed",
	"formatter_class": "as FORMAT says how rows are printed",
	"raw":             "deleted cells are not kept; versions=all reads all versions",
	"metrics":         "stats, at the end of a scan, says what it cost",
	"authorizations":  "cells have no labels",
	"visibility":      "cells have no labels",
	"cell.limit":      "limit= bounds the rows and cells= the cells of each",
}

var storage = map[string]bool{
	"bloomfilter": true, "blockcache": true, "blocksize": true, "compression": true, "compression_compact": true,
	"data_block_encoding": true, "in_memory": true, "replication_scope": true, "cache_data_on_write": true,
	"cache_index_on_write": true, "cache_blooms_on_write": true, "evict_blocks_on_close": true, "prefetch_blocks_on_open": true,
	"dfs_replication": true, "storage_policy": true, "configuration": true, "metadata": true,
	"splits": true, "splits_file": true, "numregions": true, "splitalgo": true, "region_replication": true, "max_filesize": true,
	"memstore_flushsize": true, "durability": true, "compaction_enabled": true, "split_enabled": true, "merge_enabled": true,
}
