// Apache Beam's connector for Java, BigtableIO, against the server that
// $BIGTABLE_EMULATOR_HOST names: one pipeline writes rows, and another reads them in parts,
// by ranges and with a filter. Ends with status 0 when every answer was right.

import com.google.bigtable.v2.Mutation;
import com.google.bigtable.v2.Row;
import com.google.bigtable.v2.RowFilter;
import com.google.cloud.bigtable.admin.v2.BigtableTableAdminClient;
import com.google.cloud.bigtable.admin.v2.BigtableTableAdminSettings;
import com.google.cloud.bigtable.admin.v2.models.CreateTableRequest;
import com.google.protobuf.ByteString;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.beam.sdk.Pipeline;
import org.apache.beam.sdk.io.gcp.bigtable.BigtableIO;
import org.apache.beam.sdk.io.range.ByteKey;
import org.apache.beam.sdk.io.range.ByteKeyRange;
import org.apache.beam.sdk.options.PipelineOptionsFactory;
import org.apache.beam.sdk.testing.PAssert;
import org.apache.beam.sdk.transforms.Create;
import org.apache.beam.sdk.transforms.DoFn;
import org.apache.beam.sdk.transforms.ParDo;
import org.apache.beam.sdk.values.KV;

public class BeamIO {
  static final String SERVER = System.getenv("BIGTABLE_EMULATOR_HOST");
  static final int ROWS = 2000;

  static String key(int i) {
    return String.format("row%05d", i);
  }

  // The cells of a number: one in each of the families f and g.
  static class Write extends DoFn<Integer, KV<ByteString, Iterable<Mutation>>> {
    @ProcessElement
    public void each(@Element Integer i, OutputReceiver<KV<ByteString, Iterable<Mutation>>> out) {
      List<Mutation> all = new ArrayList<>();
      for (String family : List.of("f", "g"))
        all.add(
            Mutation.newBuilder()
                .setSetCell(
                    Mutation.SetCell.newBuilder()
                        .setFamilyName(family)
                        .setColumnQualifier(ByteString.copyFromUtf8("n"))
                        .setTimestampMicros(1000L)
                        .setValue(ByteString.copyFromUtf8(String.valueOf(i))))
                .build());
      out.output(KV.of(ByteString.copyFromUtf8(key(i)), all));
    }
  }

  // A row as its key and its cells.
  static class Text extends DoFn<Row, String> {
    @ProcessElement
    public void each(@Element Row row, OutputReceiver<String> out) {
      StringBuilder b = new StringBuilder(row.getKey().toStringUtf8());
      row.getFamiliesList()
          .forEach(
              f ->
                  f.getColumnsList()
                      .forEach(c -> c.getCellsList().forEach(v -> b.append(" " + f.getName() + "=" + v.getValue().toStringUtf8()))));
      out.output(b.toString());
    }
  }

  static BigtableIO.Read read() {
    return BigtableIO.read().withProjectId("local").withInstanceId("local").withTableId("beam").withEmulator(SERVER);
  }

  static void expect(Pipeline p, String name, BigtableIO.Read read, List<String> want) {
    PAssert.that(name, p.apply(name, read).apply(name + " as text", ParDo.of(new Text()))).containsInAnyOrder(want);
  }

  public static void main(String[] args) throws Exception {
    String[] place = SERVER.split(":");
    try (BigtableTableAdminClient admin =
        BigtableTableAdminClient.create(
            BigtableTableAdminSettings.newBuilderForEmulator(place[0], Integer.parseInt(place[1])).setProjectId("local").setInstanceId("local").build())) {
      admin.createTable(CreateTableRequest.of("beam").addFamily("f").addFamily("g").addSplit(ByteString.copyFromUtf8(key(700))).addSplit(ByteString.copyFromUtf8(key(1500))));
    }
    List<Integer> numbers = new ArrayList<>();
    List<String> all = new ArrayList<>(), some = new ArrayList<>();
    for (int i = 0; i < ROWS; i++) {
      numbers.add(i);
      all.add(key(i) + " f=" + i + " g=" + i);
      if (i < 20 || i >= 990 && i < 1010) some.add(key(i) + " g=" + i);
    }
    Collections.shuffle(numbers);
    Pipeline write = Pipeline.create(PipelineOptionsFactory.create());
    write
        .apply(Create.of(numbers))
        .apply(ParDo.of(new Write()))
        .apply(BigtableIO.write().withProjectId("local").withInstanceId("local").withTableId("beam").withEmulator(SERVER));
    write.run().waitUntilFinish();

    Pipeline read = Pipeline.create(PipelineOptionsFactory.create());
    expect(read, "all", read(), all);
    ByteKeyRange first = ByteKeyRange.of(ByteKey.EMPTY, ByteKey.copyFrom(key(20).getBytes()));
    ByteKeyRange second = ByteKeyRange.of(ByteKey.copyFrom(key(990).getBytes()), ByteKey.copyFrom(key(1010).getBytes()));
    expect(read, "some", read().withKeyRanges(List.of(first, second)).withRowFilter(RowFilter.newBuilder().setFamilyNameRegexFilter("g").build()), some);
    read.run().waitUntilFinish();
  }
}
