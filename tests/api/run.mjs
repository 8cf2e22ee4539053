// Runs one test file with Node's test runner, shows what it said, and counts its cases the way
// tools/run-tests reads them.
import { spawn } from 'node:child_process';

const child = spawn(process.execPath, ['--test', '--test-reporter=tap', ...process.argv.slice(2)],
                    { stdio: ['ignore', 'pipe', 'inherit'] });
let said = '';
child.stdout.on('data', (text) => { said += text; process.stdout.write(text); });
child.on('close', (status) => {
  const count = (what) => Number(said.match(new RegExp(`^# ${what} (\\d+)$`, 'm'))?.[1] ?? 0);
  console.log(`pawl-cases: ${count('pass')} passed, ${count('fail') + count('cancelled')} failed`);
  process.exitCode = status ?? 1;
});
