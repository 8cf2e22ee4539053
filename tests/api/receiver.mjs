// A real HTTP server that receives what Pawl sends: webhooks and spans.
//
//     const receiver = await receive((request, count) => count === 0 ? 500 : 204);
//     await receiver.until((all) => all.length === 2);
//     await receiver.close();
import { createServer } from 'node:http';

// `answer` is asked for the status of each request, or `null` to never answer it; it may answer a
// promise, or { status, headers }.
export async function receive(answer = () => 204, { port = 0 } = {}) {
  const all = [];
  const waiting = new Set();
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (piece) => { text += piece; });
    request.on('end', async () => {
      const { method, url, headers } = request;
      const one = { method, url, headers, text, body: text ? JSON.parse(text) : undefined };
      all.push(one);
      for (const look of waiting) look();
      const said = await answer(one, all.length - 1);
      if (said === null) return;
      response.writeHead(said.status ?? said, said.headers ?? {});
      response.end();
    });
  });
  await new Promise((resolve) => { server.listen(port, '127.0.0.1', resolve); });
  return {
    all,
    port: server.address().port,
    url: `http://127.0.0.1:${server.address().port}`,
    // Waits until what was received is as the test wants it. A test that waits in vain is ended by
    // the runner's own limit.
    until(wanted) {
      return new Promise((resolve) => {
        const look = () => {
          if (!wanted(all)) return;
          waiting.delete(look);
          resolve(all);
        };
        waiting.add(look);
        look();
      });
    },
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => { server.close(resolve); });
    },
  };
}
