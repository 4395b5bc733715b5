// What a terminal shows after it has been sent bytes: the part of a VT100 that readline programs
// use.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

class Screen {
public:
  explicit Screen(int columns) : columns_(columns) {}

  void send(const std::string &bytes) {
    for (const char c : bytes)
      if (!escape_.empty())
        escape(c);
      else
        put(c);
  }

  // Lines without the spaces at their ends.
  std::string text() const {
    std::string text;
    for (std::string line : lines_) {
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n';
    }
    return text;
  }
  int row() const { return row_; }
  int column() const { return column_; }

private:
  void put(char c) {
    if (c == '\033') {
      escape_ = c;
    } else if (c == '\r') {
      column_ = 0;
    } else if (c == '\n') {
      ++row_;
      lines_.resize(std::max(lines_.size(), std::size_t(row_) + 1));
    } else if (c == '\b') {
      column_ = std::max(0, column_ - 1);
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      if (column_ == columns_) put('\r'), put('\n'); // it waits in the last column
      std::string &line = lines_[std::size_t(row_)];
      line.resize(std::max(line.size(), std::size_t(column_) + 1), ' ');
      line[std::size_t(column_++)] = c;
    }
  }

  void escape(char c) {
    escape_ += c;
    if (escape_ == "\033[" || c == '?' || (c >= '0' && c <= '9') || c == ';') return;
    const int number = std::max(1, std::atoi(escape_.c_str() + 2));
    const std::size_t row = std::size_t(row_);
    if (c == 'A') row_ = std::max(0, row_ - number);
    if (c == 'B') row_ = std::min(int(lines_.size()) - 1, row_ + number);
    if (c == 'C') column_ = std::min(columns_ - 1, column_ + number);
    if (c == 'K' || c == 'J')
      lines_[row].resize(std::min(lines_[row].size(), std::size_t(column_)));
    if (c == 'J') lines_.resize(row + 1);
    escape_.clear();
  }

  const int columns_;
  std::vector<std::string> lines_{""};
  int row_ = 0, column_ = 0;
  std::string escape_;
};
