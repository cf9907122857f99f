// Package dialect knows the parts of the cbt and HBase shells that need no parser:
// their words and smolwc's equivalents, how they write times, values and policies, and
// the text of HBase's filters. Package ql parses the statements.
package dialect

import (
	"slices"
	"strings"
)

// InsteadOf says what to write in place of a verb of another system without an
// equivalent statement; it returns "" for any other word. In this package, words passed
// to functions are in lower case.
func InsteadOf(verb string) string { return hint(foreignVerbs, verb) }

// InsteadOfOption is InsteadOf for an option.
func InsteadOfOption(word string) string { return hint(foreignOptions, word) }

// InsteadOfClause is InsteadOf for a word that begins a clause of SQL.
func InsteadOfClause(word string) string { return hint(foreignClauses, word) }

// IsIgnored reports whether the option cannot change a statement's result: it sets how
// another system fetches or stores data.
func IsIgnored(option string) bool { return slices.Contains(ignored, option) }

// IsStorage reports whether the option sets how HBase stores a family or a table.
// smolwc makes that choice itself, and the option changes no result.
func IsStorage(option string) bool { return slices.Contains(storage, option) }

// hint returns the text beside the word in a table of words and texts.
func hint(table [][2]string, word string) string {
	for _, line := range table {
		if slices.Contains(strings.Fields(line[0]), word) {
			return line[1]
		}
	}
	return ""
}

var foreignVerbs = [][2]string{
	{"where group having order limit offset", "a query begins with select; its lines continue it where the first ends without ;"},
	{"insert", "put T KEY FAM:QUAL=VALUE writes a row"},
	{"update", "put T KEY FAM:QUAL=VALUE writes a row, and put T FAM:QUAL=VALUE where CONDITION the rows that satisfy it"},
	{"sum avg min max average minimum maximum", "aggregate T sum(COL) computes it, and avg, min and max in the same way"},
	{"distinct unique uniq", "aggregate T count group by COL shows the different values of a column, distinct(COL) their number"},
	{"top sort largest", "aggregate T max(COL) group by key top 10 by max(COL) shows the rows with the largest values"},
	{"head first", "scan T limit=10 shows the first rows, scan T reverse limit=10 the last ones, sample T 10 any"},
	{"find search grep", "scan T where COL like '%text%' finds text in values, regex=/.*text.*/ in row keys"},
	{"remove del", "delete T KEY deletes a row, delete T where CONDITION all rows that satisfy it"},
	{"increment inc decr", "incr T KEY COL [NUMBER] adds to a number, which may be negative"},
	{"load", "import T from 'FILE' loads a file"},
	{"dump save", "export T to 'FILE' writes a table to a file"},
	{"compare", "diff A B shows the cells in which two tables differ"},
	{"show", "tables lists the tables, views the views, describe T shows the families of one, and .schema T the statement that makes it"},
	{"table", "scan T shows the rows of a table, tables lists the tables"},
	{"summarize summary", "stats T shows the sizes of a table, aggregate T count its figures"},
	{"pragma", "describe T shows a table, stats T its files"},
	{"start", "begin begins a batch of writes, and commit writes it"},
	{"smolwc", "this is its shell: type the statement, or leave with Ctrl-D for a command"},
	{"branch doctor ping promote prune region replicas route serve switchover token", "it is a command: leave the shell, and type it after smolwc, with --help"},
	{"vacuum optimize", "compact T rewrites a table, gc removes what retention has dropped"},
	{"attach detach", ".open DIR opens another database"},
	{"clear cls", "Ctrl-L clears the screen"},
	{"mode format", ".mode FORMAT says how rows are shown, and as FORMAT at the end of a statement"},
	{"schema", ".schema T shows the statements that make a table, describe T its families"},
	{"use get_table", ".use T chooses the table for statements that leave it out"},

	{"rename", "a table is renamed by copy table A to B and drop table A, a column by copy table A to A columns=COL as COL and a delete: see help copy"},
	{"clone cp", "copy table A to B copies a table"},
	{"tail follow", "watch T shows the changes of a table as they are made, scan T reverse limit=10 its last rows"},

	{"rmdir", "rm PATH removes a directory with those below it"},
	{"tree", "directories shows the tree of the directories"},
	{"enqueue dequeue", "a program does that, with package queue; queues and peek show items"},
	{"cd", "there is no current directory; paths begin at the root"},

	{"disable disable_all", "tables need not be disabled; drop table T and alter table T .. work at any time"},
	{"enable enable_all is_enabled is_disabled", "tables are always enabled; describe T shows one"},
	{"drop_all", "drop table T yes drops one table; tables lists them"},
	{"snapshot createsnapshot", "backup to 'DIR' keeps a copy; checkpoint 'DIR' makes one that opens at once"},
	{"restore_snapshot clone_snapshot createtablefromsnapshot", "restore brings a backup back, and copy table A to B copies a table"},
	{"list_snapshots listsnapshots", "backups lists the backups"},
	{"list_namespace", "there are no namespaces; tables lists the tables"},
	{"create_namespace drop_namespace", "there are no namespaces; a table may be called a.b"},
	{"get_splits split balancer", "one machine holds every table, and it is not split; stats T shows its files"},
	{"table_help tools doc mddoc", "help lists the statements"},
	{"whoami", "the shell has no users: it runs as the user that opened the database"},
	{"grant revoke", "there are no users and no permissions besides those of the database's files"},

	{"listinstances", "a database is one directory, and has no instances; tables lists the tables"},
	{"createinstance deleteinstance listclusters createcluster updatecluster deletecluster", "a database is one directory, on one machine"},
	{"listappprofile createappprofile deleteappprofile getappprofile updateappprofile", "there are no application profiles"},
	{"waitforreplication", "there is no replication; every read sees all acknowledged writes"},
	{"notices", "the licences are with the source"},
	{"version", ".version shows it"},
}

var ignored = strings.Fields(`app-profile
	interval cache cache_blocks batch maxlength max_result_size isolation_level read_type attributes consistency`)

var foreignOptions = [][2]string{
	{"authorized-view", "columns= and prefix= choose what is read"},
	{"format-file", "a family's type= says what its values are; as FORMAT says how they are printed"},
	{"formatter formatter_class", "as FORMAT says how rows are printed"},
	{"raw", "deleted cells are not kept; versions=all reads all versions"},
	{"metrics", "stats, at the end of a scan, says what it cost"},
	{"authorizations visibility", "cells have no labels"},
	{"cell.limit", "limit= bounds the rows and cells= the cells of each"},
	{"asof", "until=TS shows the newest cells before a time"},
}

var foreignClauses = [][2]string{
	{"order sort orderby", "rows come in the order of their keys; aggregate T max(COL) group by key top 10 by max(COL) shows those with the largest values, and select .. order by sorts"},
	{"top", "aggregate T max(COL) group by key top 10 by max(COL) shows the rows with the largest values"},
	{"group by", "aggregate T count group by COL counts the rows of each group"},
	{"distinct unique", "aggregate T count group by COL shows the different values of a column"},
	{"having", "top N by FIGURE shows the largest groups, and select .. having chooses among groups"},
	{"join", "a query reads one table; docs/from-sql.md says what to do instead"},
}

var storage = strings.Fields(`bloomfilter blockcache blocksize compression compression_compact data_block_encoding
	in_memory replication_scope cache_data_on_write cache_index_on_write cache_blooms_on_write
	evict_blocks_on_close prefetch_blocks_on_open dfs_replication storage_policy configuration metadata
	splits splits_file numregions splitalgo region_replication max_filesize memstore_flushsize durability
	compaction_enabled split_enabled merge_enabled`)
