// A client fabric whose channels come out decorated (checking.h, testing/fault.h), so that an engine runs on
// them without knowing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "common/fabric/fabric.h"

namespace namdb::fabric {

class DecoratedFabric final : public ClientFabric {
 public:
  using Decorate = std::function<std::unique_ptr<Channel>(std::unique_ptr<Channel> channel)>;
  DecoratedFabric(std::unique_ptr<ClientFabric> inner, Decorate decorate)
      : inner_(std::move(inner)), decorate_(std::move(decorate)) {}

  std::string_view name() const override { return inner_->name(); }
  LocalPool& pool() override { return inner_->pool(); }
  reactor::Task<Result<std::unique_ptr<Channel>>> connect(std::string address, std::string hello,
                                                          std::string* welcome) override {
    auto connected = co_await inner_->connect(std::move(address), std::move(hello), welcome);
    if (!connected.ok()) co_return connected.status();
    co_return decorate_(std::move(*connected));
  }

 private:
  std::unique_ptr<ClientFabric> inner_;
  Decorate decorate_;
};

}  // namespace namdb::fabric
