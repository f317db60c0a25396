#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/operation.h"

namespace belljar::api {

// All operations, and which of them a request asks for. Filled before the first request.
class OperationTable {
   public:
    struct Found {
        const Operation* operation = nullptr;
        std::map<std::string, std::string, std::less<>> path_values{};
    };
    struct WrongMethod {
        std::string allowed{};  // for the header Allow
    };
    struct Nothing {};
    struct BadPath {  // a percent sign that encodes nothing, or a slash in disguise
        std::string reason{};
    };
    using Finding = std::variant<Found, WrongMethod, Nothing, BadPath>;

    // Two of the same method and path are a mistake of ours, and so is an id that is taken.
    void add(Operation operation);
    // A schema that operations refer to by name. Two of one name are a mistake of ours.
    void add_schema(std::string name, json::object schema);

    [[nodiscard]] Finding find(std::string_view method, std::string_view path) const;

    [[nodiscard]] const std::vector<std::unique_ptr<const Operation>>& operations() const {
        return operations_;
    }
    [[nodiscard]] const std::map<std::string, json::object>& schemas() const { return schemas_; }

   private:
    // A path of variables and fixed segments, with the operations that it has.
    struct Place {
        std::vector<std::string> segments{};
        std::map<std::string, const Operation*> by_method{};
    };

    [[nodiscard]] static Finding choose(const Place& place, std::string_view method, Found found);

    std::vector<std::unique_ptr<const Operation>> operations_;
    std::map<std::string, json::object> schemas_;
    std::map<std::string, Place, std::less<>> fixed_;  // without variables, by their path
    std::vector<Place> variable_;                      // fixed segments go before variables
};

}  // namespace belljar::api
