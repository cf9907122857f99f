// Bigtable's official Node client against the server that
// $BIGTABLE_EMULATOR_HOST names. Ends with status 0 when every answer was right.
'use strict';

const assert = require('node:assert/strict');
const {Bigtable, SqlTypes} = require('@google-cloud/bigtable');

async function main() {
  const bigtable = new Bigtable({projectId: 'local'});
  const table = bigtable.instance('local').table('node');
  await table.create({families: [{name: 'f', rule: {versions: 2}}], splits: [Buffer.from('m')]});
  await assert.rejects(table.create(), {code: 6});
  await table.createFamily('g');
  const [families] = await table.getFamilies();
  assert.deepEqual(families.map(f => f.id).sort(), ['f', 'g']);

  await table.insert({key: 'k1', data: {f: {q: 'one'}, g: {q: 'two'}}});
  await table.insert(
    Array.from({length: 1000}, (_, i) => ({
      key: `many${String(i).padStart(4, '0')}`,
      data: {f: {q: String(i)}},
    }))
  );
  await assert.rejects(table.insert({key: 'k2', data: {nowhere: {q: 'x'}}}), /./);

  const [k1] = await table.row('k1').get();
  assert.equal(k1.data.f.q[0].value, 'one');
  await assert.rejects(table.row('nobody').get(), {code: 404});
  const keys = async options => (await table.getRows(options))[0].map(r => r.id);
  assert.deepEqual(
    await keys({ranges: [{start: 'many0990', end: {value: 'many0993', inclusive: false}}]}),
    ['many0990', 'many0991', 'many0992']
  );
  assert.deepEqual(await keys({prefix: 'many', limit: 2}), ['many0000', 'many0001']);
  assert.deepEqual(
    await keys({filter: [{family: 'f'}, {value: {start: '998'}}]}),
    ['k1', 'many0998', 'many0999']
  );

  const row = table.row('k1');
  const [matched] = await row.filter([{value: 'one'}], {
    onMatch: [{method: 'insert', data: {f: {matched: 'yes'}}}],
  });
  assert.equal(matched, true);
  await row.createRules([{column: 'f:q', append: '!'}]);
  await row.increment('g:n', 41);
  const [n] = await row.increment('g:n');
  assert.equal(n, 42);
  const [after] = await row.get();
  assert.equal(after.data.f.matched[0].value, 'yes');
  assert.equal(after.data.f.q[0].value, 'one!');

  const [samples] = await table.sampleRowKeys();
  assert.equal(samples.at(-1).key.toString(), '');

  await row.deleteCells(['f:matched']);
  assert.equal((await row.get())[0].data.f.matched, undefined);
  for (const size of [10_000_000, 50_000_000]) {
    const value = 'x'.repeat(size);
    await table.insert({key: 'large', data: {f: {q: value}}});
    assert.ok((await table.row('large').get())[0].data.f.q[0].value === value);
  }
  const wide = {};
  for (let i = 0; i < 50; i++) {
    wide[`q${String(i).padStart(2, '0')}`] = String.fromCharCode(65 + i).repeat(100_000);
  }
  await table.insert({key: 'wide', data: {f: wide}});
  const got = (await table.row('wide').get())[0].data.f;
  assert.equal(Object.keys(got).length, 50);
  for (const q in wide) assert.ok(got[q][0].value === wide[q]);
  await table.deleteRows('many');
  assert.deepEqual(await keys({}), ['k1', 'large', 'wide']);

  const instance = bigtable.instance('local');
  const [statement] = await instance.prepareStatement({
    query: 'SELECT _key AS k, f FROM node WHERE _key >= @from ORDER BY _key',
    parameterTypes: {from: SqlTypes.Bytes()},
  });
  const [selected] = await instance.executeQuery({preparedStatement: statement, parameters: {from: Buffer.from('k')}});
  assert.deepEqual(selected.map(r => r.get('k').toString()), ['k1', 'large', 'wide']);
  assert.equal(selected[2].get('f').get(Buffer.from('q49')).length, 100_000);
  const [one] = await instance.executeQuery({preparedStatement: statement, parameters: {from: Buffer.from('w')}});
  assert.deepEqual(one.map(r => r.get('k').toString()), ['wide']);
  const [keysAlone] = await instance.prepareStatement('SELECT _key FROM node');
  assert.equal((await instance.executeQuery(keysAlone))[0].length, 3);
  const [nobody] = await instance.executeQuery({preparedStatement: statement, parameters: {from: Buffer.from('z')}});
  assert.deepEqual(nobody, []);

  await table.family('g').delete();
  await table.delete();
  assert.deepEqual(await table.exists(), [false]);
  await bigtable.close();
}

main().catch(err => {
  console.error(err);
  process.exit(1);
});
