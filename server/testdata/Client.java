// Bigtable's official Java client against the server that $BIGTABLE_EMULATOR_HOST
// names. Ends with status 0 when every answer was right.

import static com.google.cloud.bigtable.data.v2.models.Filters.FILTERS;

import com.google.api.gax.batching.Batcher;
import com.google.api.gax.rpc.AlreadyExistsException;
import com.google.api.gax.rpc.NotFoundException;
import com.google.cloud.bigtable.admin.v2.BigtableInstanceAdminClient;
import com.google.cloud.bigtable.admin.v2.BigtableInstanceAdminSettings;
import com.google.cloud.bigtable.admin.v2.BigtableTableAdminClient;
import com.google.cloud.bigtable.admin.v2.BigtableTableAdminSettings;
import com.google.cloud.bigtable.admin.v2.models.*;
import com.google.cloud.bigtable.data.v2.BigtableDataClient;
import com.google.cloud.bigtable.data.v2.BigtableDataSettings;
import com.google.cloud.bigtable.data.v2.models.*;
import com.google.cloud.bigtable.data.v2.models.sql.PreparedStatement;
import com.google.cloud.bigtable.data.v2.models.sql.ResultSet;
import com.google.cloud.bigtable.data.v2.models.sql.SqlType;
import com.google.protobuf.ByteString;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;

public class Client {
  interface Call {
    void run() throws Exception;
  }

  static void expect(Object got, Object want) {
    if (!Objects.equals(got, want)) throw new AssertionError("got " + got + ", want " + want);
  }

  static void raises(Class<?> kind, Call call) {
    try {
      call.run();
    } catch (Exception e) {
      expect(e.getClass(), kind);
      return;
    }
    throw new AssertionError("no " + kind);
  }

  static ByteString repeat(char c, int n) {
    byte[] b = new byte[n];
    Arrays.fill(b, (byte) c);
    return ByteString.copyFrom(b);
  }

  static List<String> keys(BigtableDataClient data, Query q) {
    List<String> all = new ArrayList<>();
    for (Row r : data.readRows(q)) all.add(r.getKey().toStringUtf8());
    return all;
  }

  static void tables(BigtableTableAdminClient admin, BigtableDataClient data) throws Exception {
    Table made =
        admin.createTable(
            CreateTableRequest.of("java")
                .addFamily("f", GCRules.GCRULES.maxVersions(3))
                .addFamily("g")
                .addSplit(ByteString.copyFromUtf8("m")));
    expect(made.getColumnFamilies().size(), 2);
    raises(AlreadyExistsException.class, () -> admin.createTable(CreateTableRequest.of("java").addFamily("f")));
    expect(admin.listTables(), List.of("java"));
    admin.modifyFamilies(ModifyColumnFamiliesRequest.of("java").addFamily("h"));
    expect(admin.getTable("java").getColumnFamilies().size(), 3);
    admin.awaitReplication("java");

    TableId id = TableId.of("java");
    data.mutateRow(RowMutation.create(id, "k1").setCell("f", "q", 1000, "one").setCell("g", "q", "two"));
    try (Batcher<RowMutationEntry, Void> b = data.newBulkMutationBatcher(id)) {
      for (int i = 0; i < 1000; i++)
        b.add(RowMutationEntry.create(String.format("many%04d", i)).setCell("f", "q", String.valueOf(i)));
    }
    raises(NotFoundException.class, () -> data.mutateRow(RowMutation.create(id, "k2").setCell("nowhere", "q", "x")));

    expect(data.readRow(id, "k1").getCells("f", "q").get(0).getValue().toStringUtf8(), "one");
    expect(data.readRow(id, "nobody"), null);
    expect(keys(data, Query.create(id).range("many0990", "many0992")), List.of("many0990", "many0991"));
    expect(keys(data, Query.create(id).prefix("many").filter(FILTERS.value().regex("99[0-9]"))).size(), 10);
    expect(keys(data, Query.create(id).reversed(true).limit(2)), List.of("many0999", "many0998"));

    ConditionalRowMutation check =
        ConditionalRowMutation.create(id, "k1")
            .condition(FILTERS.value().exactMatch("one"))
            .then(Mutation.create().setCell("f", "matched", "yes"));
    expect(data.checkAndMutateRow(check), true);
    Row written = data.readModifyWriteRow(ReadModifyWriteRow.create(id, "k1").increment("g", "n", 42).append("f", "q", "!"));
    expect(written.getCells("f", "q").get(0).getValue().toStringUtf8(), "one!");
    List<KeyOffset> samples = data.sampleRowKeys(id);
    expect(samples.get(samples.size() - 1).getKey(), ByteString.EMPTY);

    RowMutation wide = RowMutation.create(id, "wide");
    for (int i = 0; i < 50; i++)
      wide.setCell("f", ByteString.copyFromUtf8(String.format("q%02d", i)), 1000, repeat((char) ('A' + i), 100_000));
    data.mutateRow(wide);
    List<RowCell> cells = data.readRow(id, "wide").getCells();
    expect(cells.size(), 50);
    for (int i = 0; i < 50; i++) expect(cells.get(i).getValue(), repeat((char) ('A' + i), 100_000));
    for (int size : new int[] {10_000_000, 50_000_000}) {
      data.mutateRow(RowMutation.create(id, "large").setCell("f", ByteString.copyFromUtf8("q"), 1000, repeat('x', size)));
      expect(data.readRow(id, "large").getCells("f", "q").get(0).getValue(), repeat('x', size));
    }

    PreparedStatement query =
        data.prepareStatement(
            "SELECT _key, f['q'] AS q FROM java WHERE _key > @from LIMIT 1", Map.of("from", SqlType.bytes()));
    try (ResultSet rs = data.executeQuery(query.bind().setBytesParam("from", ByteString.copyFromUtf8("many0997")).build())) {
      expect(rs.next(), true);
      expect(rs.getBytes("_key").toStringUtf8(), "many0998");
      expect(rs.getBytes("q").toStringUtf8(), "998");
      expect(rs.next(), false);
    }

    query =
        data.prepareStatement(
            "SELECT _key, @day AS day, [1, NULL] AS n, STRUCT(1 AS a, 'b' AS b) AS s FROM java WHERE _key IN UNNEST(@keys)",
            Map.of("keys", SqlType.arrayOf(SqlType.bytes()), "day", SqlType.date()));
    try (ResultSet rs =
        data.executeQuery(
            query
                .bind()
                .setListParam("keys", List.of(ByteString.copyFromUtf8("many0997"), ByteString.copyFromUtf8("none")), SqlType.arrayOf(SqlType.bytes()))
                .setDateParam("day", com.google.cloud.Date.fromYearMonthDay(2024, 6, 1))
                .build())) {
      expect(rs.next(), true);
      expect(rs.getBytes("_key").toStringUtf8(), "many0997");
      expect(rs.getDate("day").toString(), "2024-06-01");
      expect(rs.getList("n", SqlType.arrayOf(SqlType.int64())), Arrays.asList(1L, null));
      expect(rs.getStruct("s").getString("b"), "b");
      expect(rs.next(), false);
    }

    data.mutateRow(RowMutation.create(id, "k1").deleteRow());
    admin.dropRowRange("java", "many");
    expect(keys(data, Query.create(id)), List.of("large", "wide"));
    admin.deleteTable("java");
    raises(NotFoundException.class, () -> admin.getTable("java"));
  }

  static void instances(BigtableInstanceAdminClient admin) {
    CreateInstanceRequest request =
        CreateInstanceRequest.of("java").addCluster("c1", "us-east1-b", 3, StorageType.SSD).setDisplayName("one");
    expect(admin.createInstance(request).getState(), Instance.State.READY);
    expect(admin.listClusters("java").size(), 1);
    admin.createAppProfile(
        CreateAppProfileRequest.of("java", "profile").setRoutingPolicy(AppProfile.MultiClusterRoutingPolicy.of()));
    expect(admin.getAppProfile("java", "profile").getId(), "profile");
    admin.updateInstance(UpdateInstanceRequest.of("java").setDisplayName("two"));
    expect(admin.getInstance("java").getDisplayName(), "two");
    admin.deleteAppProfile("java", "profile", true);
    admin.deleteInstance("java");
    raises(NotFoundException.class, () -> admin.getInstance("java"));
  }

  public static void main(String[] args) throws Exception {
    String[] at = System.getenv("BIGTABLE_EMULATOR_HOST").split(":");
    int port = Integer.parseInt(at[1]);
    try (BigtableTableAdminClient admin =
            BigtableTableAdminClient.create(
                BigtableTableAdminSettings.newBuilderForEmulator(at[0], port)
                    .setProjectId("local")
                    .setInstanceId("local")
                    .build());
        BigtableDataClient data =
            BigtableDataClient.create(
                BigtableDataSettings.newBuilderForEmulator(at[0], port)
                    .setProjectId("local")
                    .setInstanceId("local")
                    .build())) {
      tables(admin, data);
    }
    try (BigtableInstanceAdminClient admin =
        BigtableInstanceAdminClient.create(
            BigtableInstanceAdminSettings.newBuilderForEmulator(at[0], port).setProjectId("local").build())) {
      instances(admin);
    }
  }
}
