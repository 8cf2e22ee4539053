// A program in C++ that lives with Pawl: handlers are lambdas, threads are std::thread, the handle
// is closed by its owner.
#include <pawl.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Closer {
    void operator()(pawl *handle) const { pawl_close(handle); }
};
using Store = std::unique_ptr<pawl, Closer>;

struct Counts {
    std::atomic<int> prepared{0}, finished{0};
};

Store open(const std::string &url)
{
    pawl_error err{};
    pawl_options options{};
    options.store = url.c_str();
    pawl *handle = nullptr;
    if (!pawl_open(&handle, &options, &err))
        std::fprintf(stderr, "%s\n", err.message);
    return Store(handle);
}

bool handle(pawl *store, Counts &counts)
{
    pawl_handler handler{};
    handler.job_type = "sum";
    handler.context = &counts;
    handler.prepare = [](pawl_run *run, void *context) {
        static_cast<Counts *>(context)->prepared++;
        return pawl_result(run, "{\"sum\":3}");
    };
    handler.finish = [](pawl_run *, void *context) {
        static_cast<Counts *>(context)->finished++;
        return true;
    };
    return pawl_handle(store, &handler, nullptr) && pawl_start(store, nullptr);
}

int enqueue(pawl *store, int threads)
{
    std::atomic<int> stored{0};
    std::vector<std::thread> all;
    for (int i = 0; i < threads; i++)
        all.emplace_back([&] {
            pawl_job job{};
            job.job_type = "sum";
            stored += pawl_enqueue(store, &job, nullptr, nullptr);
        });
    for (auto &thread : all)
        thread.join();
    return stored;
}

}  // namespace

int main(int count, char **words)
{
    constexpr int threads = 8;
    Counts counts;
    Store store = open(count > 1 ? words[1] : "sqlite:pawl.db");
    if (!store || !handle(store.get(), counts) || enqueue(store.get(), threads) != threads
        || !pawl_run_until_idle(store.get(), nullptr))
        return 1;
    struct pawl_figures figures = pawl_figures(store.get());
    std::printf("succeeded %d, prepared %d, finished %d\n", static_cast<int>(figures.succeeded),
                counts.prepared.load(), counts.finished.load());
    return 0;
}
