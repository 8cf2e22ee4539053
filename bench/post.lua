-- Single durable jobs for wrk, each with a key of its own:
--
--   wrk --threads 2 --connections 50 --duration 10s --latency --script bench/post.lua URL
--
-- A server with keys wants one: it is taken from PAWL_API_KEY.

local threads = 0

-- Before the threads start: each gets a number.
function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

function init()
  key = os.getenv("PAWL_API_KEY")
  begun = os.time()
  made = 0
  payload = string.rep("x", 185)  -- with its frame 200 bytes, as `pawl bench` has
  wrk.headers["Content-Type"] = "application/json"
  if key then
    wrk.headers["Authorization"] = "Bearer " .. key
  end
end

-- The last line of what is printed, for bench/suite.
function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%.3f,"p50_us":%d,"p99_us":%d,"refused":%d,"errors":%d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50), latency:percentile(99),
    e.status, e.connect + e.read + e.write + e.timeout))
end

function request()
  made = made + 1
  return wrk.format("POST", "/v1/jobs", nil, string.format(
    '{"job_type":"bench.run","queue":"q:bench","payload":{"document":"%s"},'
      .. '"idempotency_key":"wrk-%d-%d-%d"}', payload, begun, number, made))
end
