// HBase's Java API on Bigtable's, bigtable-hbase-2.x, against the server that
// $BIGTABLE_EMULATOR_HOST names. Ends with status 0 when every answer was right.

import com.google.cloud.bigtable.hbase.BigtableConfiguration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.hadoop.hbase.CompareOperator;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.*;
import org.apache.hadoop.hbase.filter.*;
import org.apache.hadoop.hbase.util.Bytes;

public class HBase {
  static final byte[] F = Bytes.toBytes("f");
  static final byte[] X = Bytes.toBytes("x");

  static void expect(Object got, Object want) {
    if (!Objects.equals(got, want)) throw new AssertionError("got " + got + ", want " + want);
  }

  static byte[] b(String s) {
    return Bytes.toBytes(s);
  }

  static List<String> keys(Table t, Scan s) throws Exception {
    List<String> all = new ArrayList<>();
    try (ResultScanner found = t.getScanner(s)) {
      for (Result r : found) all.add(Bytes.toString(r.getRow()));
    }
    return all;
  }

  static void tables(Admin admin, TableName name) throws Exception {
    admin.createTable(
        TableDescriptorBuilder.newBuilder(name)
            .setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(F).setMaxVersions(3).build())
            .build(),
        new byte[][] {b("m")});
    expect(admin.tableExists(name), true);
    admin.addColumnFamily(name, ColumnFamilyDescriptorBuilder.of("g"));
    expect(admin.getDescriptor(name).getColumnFamilyNames().size(), 2);
    expect(admin.getDescriptor(name).getColumnFamily(F).getMaxVersions(), 3);
  }

  static void writes(Connection c, Table t) throws Exception {
    t.put(new Put(b("a")).addColumn(F, X, 1000, b("old")).addColumn(F, X, 2000, b("new")));
    Result got = t.get(new Get(b("a")).readAllVersions());
    expect(got.size(), 2);
    expect(Bytes.toString(got.getValue(F, X)), "new");
    t.delete(new Delete(b("a")).addColumn(F, X, 2000));
    expect(Bytes.toString(t.get(new Get(b("a"))).getValue(F, X)), "old");
    try (BufferedMutator many = c.getBufferedMutator(t.getName())) {
      for (int i = 0; i < 300; i++)
        many.mutate(new Put(b(String.format("row%03d", i))).addColumn(F, X, b("v" + i % 10)));
    }
    expect(t.increment(new Increment(b("n")).addColumn(F, X, 5)).getValue(F, X).length, 8);
    expect(t.incrementColumnValue(b("n"), F, X, -2), 3L);
    t.append(new Append(b("a")).addColumn(F, X, b("er")));
    expect(Bytes.toString(t.get(new Get(b("a"))).getValue(F, X)), "older");
  }

  static void conditions(Table t) throws Exception {
    Put put = new Put(b("a")).addColumn(F, b("y"), b("1"));
    expect(t.checkAndMutate(b("a"), F).qualifier(X).ifEquals(b("none")).thenPut(put), false);
    expect(t.checkAndMutate(b("a"), F).qualifier(X).ifEquals(b("older")).thenPut(put), true);
    expect(t.checkAndMutate(b("a"), F).qualifier(b("z")).ifNotExists().thenPut(put), true);
    RowMutations both = new RowMutations(b("a"));
    both.add(put);
    both.add((Mutation) new Delete(b("a")).addColumns(F, X));
    t.mutateRow(both);
    expect(t.exists(new Get(b("a")).addColumn(F, X)), false);
    expect(Arrays.toString(t.exists(Arrays.asList(new Get(b("a")), new Get(b("no"))))), "[true, false]");
  }

  static void scans(Table t) throws Exception {
    expect(keys(t, new Scan().withStartRow(b("row003")).withStopRow(b("row005"), true)),
        Arrays.asList("row003", "row004", "row005"));
    expect(keys(t, new Scan().setRowPrefixFilter(b("row"))).size(), 300);
    expect(keys(t, new Scan().setRowPrefixFilter(b("row")).setFilter(new PageFilter(7))).size(), 7);
    Filter seven = new SingleColumnValueFilter(F, X, CompareOperator.EQUAL, b("v7"));
    expect(keys(t, new Scan().setRowPrefixFilter(b("row")).setFilter(seven)).size(), 30);
    Filter some = new FilterList(FilterList.Operator.MUST_PASS_ONE, new PrefixFilter(b("row00")),
        new ValueFilter(CompareOperator.GREATER_OR_EQUAL, new BinaryComparator(b("v9"))));
    expect(keys(t, new Scan().setRowPrefixFilter(b("row")).setFilter(some)).size(), 39);
    Filter key = new RowFilter(CompareOperator.EQUAL, new RegexStringComparator("row..5"));
    expect(keys(t, new Scan().setFilter(key)).size(), 30);
  }

  public static void main(String[] args) throws Exception {
    TableName name = TableName.valueOf("hbase");
    try (Connection c = BigtableConfiguration.connect("local", "local");
        Admin admin = c.getAdmin();
        Table t = c.getTable(name)) {
      tables(admin, name);
      writes(c, t);
      conditions(t);
      scans(t);
      admin.disableTable(name);
      admin.deleteTable(name);
      expect(admin.tableExists(name), false);
    }
    System.exit(0); // the client leaves threads
  }
}
