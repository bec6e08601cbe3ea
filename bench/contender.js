// The JavaScript side of a measurement: one task in a process of its own, run by the suite.
//
//     node contender.js MODULES TASK FILE WARM_UP_SECONDS
//
// Says what one pass is in a line of JSON, then runs a pass for each line on its standard input and answers
// with the seconds that it took. Garbage collection as Node.js has it by default.

'use strict';

const fs = require('fs');
const path = require('path');
const readline = require('readline');

const [modules, task, file, warmUp] = process.argv.slice(2);
const load = (name) => require(path.join(modules, name));

function split(data) {
  const messages = [];
  for (let at = 0; at < data.length; ) {
    const size = data.readUInt32BE(at);
    messages.push(data.subarray(at + 4, at + 4 + size));
    at += 4 + size;
  }
  return messages;
}

const TASKS = {
  'tree-hessian2'(messages) {
    const { decode } = load('hessian.js');
    return () => messages.forEach((message) => decode(message, '2.0'));
  },
  'tree-hessian2-draft'(messages) {
    const { decode } = load('sofa-hessian-node').v3;
    return () => messages.forEach((message) => decode(message, '2.0'));
  },
  'tree-hessian1'(messages) {
    const { decode } = load('hessian.js');
    return () => messages.forEach((message) => decode(message, '1.0'));
  },
  'back-hessian2'(messages) {
    const { decode, encode } = load('hessian.js');
    const objects = messages.map((message) => decode(message, '2.0', true));
    return () => objects.forEach((one) => encode(one, '2.0'));
  },
};

function seconds(run) {
  const start = process.hrtime.bigint();
  run();
  return Number(process.hrtime.bigint() - start) / 1e9;
}

const messages = split(fs.readFileSync(file));
const run = TASKS[task](messages);
for (let spent = 0; spent <= Number(warmUp); ) spent += seconds(run);
const bytes = messages.reduce((sum, message) => sum + message.length, 0);
console.log(JSON.stringify({ messages: messages.length, bytes }));
readline.createInterface({ input: process.stdin }).on('line', () => console.log(seconds(run)));
